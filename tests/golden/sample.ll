; a float argument is a word of the call

; == div_amax_sub_exp_sum_reciprocal_mul
; loop [p0, p1] kept 1 vector 1
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + 0 [p3, 1]
;   %0 f32 = load a0
;   %1 f32 = param float p4
;   %2 f32 = op Div %0 %1
;   %3 f32 = reduce max %2
;   %4 f32 = op Sub %2 %3
;   %5 f32 = op Exp %4
;   %6 f32 = reduce sum %5
;   %7 f32 = op Reciprocal %6
;   %8 f32 = op Mul %5 %7
;   %9 f32 = store a1 %8
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = alloca [16384 x i8], align 64
  %5 = icmp slt i64 %2, %3
  br i1 %5, label %work, label %done

work:                                             ; preds = %entry
  %6 = getelementptr i64, ptr %1, i64 0
  %7 = load i64, ptr %6, align 8
  %8 = getelementptr i64, ptr %1, i64 1
  %9 = load i64, ptr %8, align 8
  %10 = getelementptr ptr, ptr %0, i64 0
  %11 = load ptr, ptr %10, align 8
  %12 = getelementptr ptr, ptr %0, i64 1
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr i64, ptr %1, i64 2
  %15 = load i64, ptr %14, align 8
  %16 = getelementptr i64, ptr %1, i64 3
  %17 = load i64, ptr %16, align 8
  %18 = getelementptr i64, ptr %1, i64 4
  %19 = load i64, ptr %18, align 8
  %20 = bitcast i64 %19 to double
  %21 = fptrunc double %20 to float
  %22 = mul i64 1, %9
  %23 = call i64 @llvm.smax.i64(i64 %22, i64 1)
  %24 = udiv i64 1024, %23
  %25 = call i64 @llvm.smax.i64(i64 %24, i64 1)
  %26 = icmp sgt i64 %22, 65536
  %27 = select i1 %26, i64 0, i64 %25
  %28 = mul i64 %27, %15
  %29 = mul i64 %27, %17
  %30 = mul i64 1, %7
  %31 = mul i64 %30, %9
  %32 = icmp sge i64 %31, 8388608
  %33 = ptrtoint ptr %13 to i64
  %34 = or i64 0, %33
  %35 = mul i64 %17, 4
  %36 = or i64 %34, %35
  %37 = and i64 %36, 63
  %38 = icmp eq i64 %37, 0
  %39 = and i1 %32, %38
  %40 = icmp sle i64 %22, 4096
  %41 = and i1 %39, %40
  br label %task.head

done:                                             ; preds = %endif54, %entry
  ret void

task.head:                                        ; preds = %tail.end52, %work
  %task1 = phi i64 [ %2, %work ], [ %371, %tail.end52 ]
  %42 = phi i64 [ %2, %work ], [ %370, %tail.end52 ]
  %43 = icmp slt i64 %task1, %3
  br i1 %43, label %task, label %task.end

task:                                             ; preds = %task.head
  %44 = mul i64 %42, %15
  %45 = getelementptr float, ptr %11, i64 %44
  %46 = mul i64 %42, %17
  %47 = getelementptr float, ptr %13, i64 %46
  %48 = select i1 %41, ptr %4, ptr %47
  %49 = sub i64 %9, 0
  %50 = and i64 %49, -32
  %51 = add i64 0, %50
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ 0, %task ], [ %96, %vector ]
  %52 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %56, %vector ]
  %53 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %57, %vector ]
  %54 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %58, %vector ]
  %55 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %59, %vector ]
  %56 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %83, %vector ]
  %57 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %87, %vector ]
  %58 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %91, %vector ]
  %59 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %95, %vector ]
  %60 = icmp slt i64 %vector2, %51
  br i1 %60, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %61 = mul i64 %vector2, 1
  %62 = getelementptr float, ptr %45, i64 %61
  %63 = load <8 x float>, ptr %62, align 4
  %64 = mul i64 %vector2, 1
  %65 = getelementptr float, ptr %45, i64 %64
  %66 = getelementptr float, ptr %65, i64 8
  %67 = load <8 x float>, ptr %66, align 4
  %68 = mul i64 %vector2, 1
  %69 = getelementptr float, ptr %45, i64 %68
  %70 = getelementptr float, ptr %69, i64 16
  %71 = load <8 x float>, ptr %70, align 4
  %72 = mul i64 %vector2, 1
  %73 = getelementptr float, ptr %45, i64 %72
  %74 = getelementptr float, ptr %73, i64 24
  %75 = load <8 x float>, ptr %74, align 4
  %.splatinsert = insertelement <8 x float> poison, float %21, i64 0
  %.splat = shufflevector <8 x float> %.splatinsert, <8 x float> poison, <8 x i32> zeroinitializer
  %76 = fdiv <8 x float> %63, %.splat
  %.splatinsert3 = insertelement <8 x float> poison, float %21, i64 0
  %.splat4 = shufflevector <8 x float> %.splatinsert3, <8 x float> poison, <8 x i32> zeroinitializer
  %77 = fdiv <8 x float> %67, %.splat4
  %.splatinsert5 = insertelement <8 x float> poison, float %21, i64 0
  %.splat6 = shufflevector <8 x float> %.splatinsert5, <8 x float> poison, <8 x i32> zeroinitializer
  %78 = fdiv <8 x float> %71, %.splat6
  %.splatinsert7 = insertelement <8 x float> poison, float %21, i64 0
  %.splat8 = shufflevector <8 x float> %.splatinsert7, <8 x float> poison, <8 x i32> zeroinitializer
  %79 = fdiv <8 x float> %75, %.splat8
  %80 = fcmp ogt <8 x float> %76, %52
  %81 = select <8 x i1> %80, <8 x float> %76, <8 x float> %52
  %82 = fcmp uno <8 x float> %76, %76
  %83 = select <8 x i1> %82, <8 x float> %76, <8 x float> %81
  %84 = fcmp ogt <8 x float> %77, %53
  %85 = select <8 x i1> %84, <8 x float> %77, <8 x float> %53
  %86 = fcmp uno <8 x float> %77, %77
  %87 = select <8 x i1> %86, <8 x float> %77, <8 x float> %85
  %88 = fcmp ogt <8 x float> %78, %54
  %89 = select <8 x i1> %88, <8 x float> %78, <8 x float> %54
  %90 = fcmp uno <8 x float> %78, %78
  %91 = select <8 x i1> %90, <8 x float> %78, <8 x float> %89
  %92 = fcmp ogt <8 x float> %79, %55
  %93 = select <8 x i1> %92, <8 x float> %79, <8 x float> %55
  %94 = fcmp uno <8 x float> %79, %79
  %95 = select <8 x i1> %94, <8 x float> %79, <8 x float> %93
  %96 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail9 = phi i64 [ %51, %vector.end ], [ %119, %tail ]
  %97 = phi <8 x float> [ %52, %vector.end ], [ %98, %tail ]
  %98 = phi <8 x float> [ %53, %vector.end ], [ %99, %tail ]
  %99 = phi <8 x float> [ %54, %vector.end ], [ %100, %tail ]
  %100 = phi <8 x float> [ %55, %vector.end ], [ %101, %tail ]
  %101 = phi <8 x float> [ %56, %vector.end ], [ %102, %tail ]
  %102 = phi <8 x float> [ %57, %vector.end ], [ %103, %tail ]
  %103 = phi <8 x float> [ %58, %vector.end ], [ %104, %tail ]
  %104 = phi <8 x float> [ %59, %vector.end ], [ %118, %tail ]
  %105 = icmp slt i64 %tail9, %9
  br i1 %105, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %106 = sub i64 %9, %tail9
  %107 = call i64 @llvm.umin.i64(i64 %106, i64 8)
  %108 = trunc i64 %107 to i32
  %.splatinsert10 = insertelement <8 x i32> poison, i32 %108, i64 0
  %.splat11 = shufflevector <8 x i32> %.splatinsert10, <8 x i32> poison, <8 x i32> zeroinitializer
  %109 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat11
  %110 = mul i64 %tail9, 1
  %111 = getelementptr float, ptr %45, i64 %110
  %112 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %111, i32 4, <8 x i1> %109, <8 x float> zeroinitializer)
  %.splatinsert12 = insertelement <8 x float> poison, float %21, i64 0
  %.splat13 = shufflevector <8 x float> %.splatinsert12, <8 x float> poison, <8 x i32> zeroinitializer
  %113 = fdiv <8 x float> %112, %.splat13
  %114 = fcmp ogt <8 x float> %113, %97
  %115 = select <8 x i1> %114, <8 x float> %113, <8 x float> %97
  %116 = fcmp uno <8 x float> %113, %113
  %117 = select <8 x i1> %116, <8 x float> %113, <8 x float> %115
  %118 = select <8 x i1> %109, <8 x float> %117, <8 x float> %97
  %119 = add i64 %tail9, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %120 = fcmp ogt <8 x float> %97, %101
  %121 = select <8 x i1> %120, <8 x float> %97, <8 x float> %101
  %122 = fcmp uno <8 x float> %97, %97
  %123 = select <8 x i1> %122, <8 x float> %97, <8 x float> %121
  %124 = fcmp ogt <8 x float> %98, %102
  %125 = select <8 x i1> %124, <8 x float> %98, <8 x float> %102
  %126 = fcmp uno <8 x float> %98, %98
  %127 = select <8 x i1> %126, <8 x float> %98, <8 x float> %125
  %128 = fcmp ogt <8 x float> %99, %103
  %129 = select <8 x i1> %128, <8 x float> %99, <8 x float> %103
  %130 = fcmp uno <8 x float> %99, %99
  %131 = select <8 x i1> %130, <8 x float> %99, <8 x float> %129
  %132 = fcmp ogt <8 x float> %100, %104
  %133 = select <8 x i1> %132, <8 x float> %100, <8 x float> %104
  %134 = fcmp uno <8 x float> %100, %100
  %135 = select <8 x i1> %134, <8 x float> %100, <8 x float> %133
  %136 = fcmp ogt <8 x float> %123, %131
  %137 = select <8 x i1> %136, <8 x float> %123, <8 x float> %131
  %138 = fcmp uno <8 x float> %123, %123
  %139 = select <8 x i1> %138, <8 x float> %123, <8 x float> %137
  %140 = fcmp ogt <8 x float> %127, %135
  %141 = select <8 x i1> %140, <8 x float> %127, <8 x float> %135
  %142 = fcmp uno <8 x float> %127, %127
  %143 = select <8 x i1> %142, <8 x float> %127, <8 x float> %141
  %144 = fcmp ogt <8 x float> %139, %143
  %145 = select <8 x i1> %144, <8 x float> %139, <8 x float> %143
  %146 = fcmp uno <8 x float> %139, %139
  %147 = select <8 x i1> %146, <8 x float> %139, <8 x float> %145
  %148 = shufflevector <8 x float> %147, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %149 = shufflevector <8 x float> %147, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %150 = fcmp ogt <4 x float> %149, %148
  %151 = select <4 x i1> %150, <4 x float> %149, <4 x float> %148
  %152 = fcmp uno <4 x float> %149, %149
  %153 = select <4 x i1> %152, <4 x float> %149, <4 x float> %151
  %154 = shufflevector <4 x float> %153, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %155 = shufflevector <4 x float> %153, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %156 = fcmp ogt <2 x float> %155, %154
  %157 = select <2 x i1> %156, <2 x float> %155, <2 x float> %154
  %158 = fcmp uno <2 x float> %155, %155
  %159 = select <2 x i1> %158, <2 x float> %155, <2 x float> %157
  %160 = extractelement <2 x float> %159, i64 1
  %161 = extractelement <2 x float> %159, i64 0
  %162 = fcmp ogt float %161, %160
  %163 = select i1 %162, float %161, float %160
  %164 = fcmp uno float %161, %161
  %165 = select i1 %164, float %161, float %163
  br label %block.head

block.head:                                       ; preds = %tail.end36, %tail.end
  %block14 = phi i64 [ 0, %tail.end ], [ %329, %tail.end36 ]
  %166 = phi float [ 0.000000e+00, %tail.end ], [ %322, %tail.end36 ]
  %167 = phi float [ 0.000000e+00, %tail.end ], [ %328, %tail.end36 ]
  %168 = icmp slt i64 %block14, %9
  br i1 %168, label %block, label %block.end

block:                                            ; preds = %block.head
  %169 = add i64 %block14, 8192
  %170 = call i64 @llvm.smin.i64(i64 %169, i64 %9)
  %171 = sub i64 %170, %block14
  %172 = and i64 %171, -16
  %173 = add i64 %block14, %172
  br label %vector.head15

vector.head15:                                    ; preds = %vector16, %block
  %vector17 = phi i64 [ %block14, %block ], [ %254, %vector16 ]
  %174 = phi <8 x float> [ zeroinitializer, %block ], [ %176, %vector16 ]
  %175 = phi <8 x float> [ zeroinitializer, %block ], [ %177, %vector16 ]
  %176 = phi <8 x float> [ zeroinitializer, %block ], [ %178, %vector16 ]
  %177 = phi <8 x float> [ zeroinitializer, %block ], [ %179, %vector16 ]
  %178 = phi <8 x float> [ zeroinitializer, %block ], [ %180, %vector16 ]
  %179 = phi <8 x float> [ zeroinitializer, %block ], [ %181, %vector16 ]
  %180 = phi <8 x float> [ zeroinitializer, %block ], [ %244, %vector16 ]
  %181 = phi <8 x float> [ zeroinitializer, %block ], [ %245, %vector16 ]
  %182 = icmp slt i64 %vector17, %173
  br i1 %182, label %vector16, label %vector.end26

vector16:                                         ; preds = %vector.head15
  %183 = mul i64 %vector17, 1
  %184 = getelementptr float, ptr %45, i64 %183
  %185 = load <8 x float>, ptr %184, align 4
  %186 = mul i64 %vector17, 1
  %187 = getelementptr float, ptr %45, i64 %186
  %188 = getelementptr float, ptr %187, i64 8
  %189 = load <8 x float>, ptr %188, align 4
  %.splatinsert18 = insertelement <8 x float> poison, float %21, i64 0
  %.splat19 = shufflevector <8 x float> %.splatinsert18, <8 x float> poison, <8 x i32> zeroinitializer
  %190 = fdiv <8 x float> %185, %.splat19
  %.splatinsert20 = insertelement <8 x float> poison, float %21, i64 0
  %.splat21 = shufflevector <8 x float> %.splatinsert20, <8 x float> poison, <8 x i32> zeroinitializer
  %191 = fdiv <8 x float> %189, %.splat21
  %.splatinsert22 = insertelement <8 x float> poison, float %165, i64 0
  %.splat23 = shufflevector <8 x float> %.splatinsert22, <8 x float> poison, <8 x i32> zeroinitializer
  %192 = fsub <8 x float> %190, %.splat23
  %.splatinsert24 = insertelement <8 x float> poison, float %165, i64 0
  %.splat25 = shufflevector <8 x float> %.splatinsert24, <8 x float> poison, <8 x i32> zeroinitializer
  %193 = fsub <8 x float> %191, %.splat25
  %194 = fcmp ogt <8 x float> %192, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %195 = select <8 x i1> %194, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %192
  %196 = fcmp olt <8 x float> %195, <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>
  %197 = select <8 x i1> %196, <8 x float> <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>, <8 x float> %195
  %198 = fmul <8 x float> %197, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %199 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %198)
  %200 = call <8 x float> @llvm.fma.v8f32(<8 x float> %199, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %197)
  %201 = call <8 x float> @llvm.fma.v8f32(<8 x float> %199, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %200)
  %202 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %201, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %203 = call <8 x float> @llvm.fma.v8f32(<8 x float> %202, <8 x float> %201, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %204 = call <8 x float> @llvm.fma.v8f32(<8 x float> %203, <8 x float> %201, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %205 = call <8 x float> @llvm.fma.v8f32(<8 x float> %204, <8 x float> %201, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %206 = call <8 x float> @llvm.fma.v8f32(<8 x float> %205, <8 x float> %201, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %207 = call <8 x float> @llvm.fma.v8f32(<8 x float> %206, <8 x float> %201, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %208 = fptosi <8 x float> %199 to <8 x i32>
  %209 = ashr <8 x i32> %208, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %210 = sub <8 x i32> %208, %209
  %211 = add <8 x i32> %210, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %212 = shl <8 x i32> %211, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %213 = bitcast <8 x i32> %212 to <8 x float>
  %214 = add <8 x i32> %209, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %215 = shl <8 x i32> %214, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %216 = bitcast <8 x i32> %215 to <8 x float>
  %217 = fmul <8 x float> %207, %216
  %218 = fmul <8 x float> %217, %213
  %219 = fcmp ogt <8 x float> %193, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %220 = select <8 x i1> %219, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %193
  %221 = fcmp olt <8 x float> %220, <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>
  %222 = select <8 x i1> %221, <8 x float> <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>, <8 x float> %220
  %223 = fmul <8 x float> %222, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %224 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %223)
  %225 = call <8 x float> @llvm.fma.v8f32(<8 x float> %224, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %222)
  %226 = call <8 x float> @llvm.fma.v8f32(<8 x float> %224, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %225)
  %227 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %226, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %228 = call <8 x float> @llvm.fma.v8f32(<8 x float> %227, <8 x float> %226, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %229 = call <8 x float> @llvm.fma.v8f32(<8 x float> %228, <8 x float> %226, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %230 = call <8 x float> @llvm.fma.v8f32(<8 x float> %229, <8 x float> %226, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %231 = call <8 x float> @llvm.fma.v8f32(<8 x float> %230, <8 x float> %226, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %232 = call <8 x float> @llvm.fma.v8f32(<8 x float> %231, <8 x float> %226, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %233 = fptosi <8 x float> %224 to <8 x i32>
  %234 = ashr <8 x i32> %233, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %235 = sub <8 x i32> %233, %234
  %236 = add <8 x i32> %235, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %237 = shl <8 x i32> %236, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %238 = bitcast <8 x i32> %237 to <8 x float>
  %239 = add <8 x i32> %234, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %240 = shl <8 x i32> %239, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %241 = bitcast <8 x i32> %240 to <8 x float>
  %242 = fmul <8 x float> %232, %241
  %243 = fmul <8 x float> %242, %238
  %244 = fadd <8 x float> %218, %174
  %245 = fadd <8 x float> %243, %175
  %246 = mul i64 %vector17, 1
  %247 = getelementptr float, ptr %45, i64 %246
  %248 = getelementptr float, ptr %247, i64 %28
  call void @llvm.prefetch.p0(ptr %248, i32 0, i32 3, i32 1)
  %249 = mul i64 %vector17, 1
  %250 = getelementptr float, ptr %48, i64 %249
  store <8 x float> %218, ptr %250, align 4
  %251 = mul i64 %vector17, 1
  %252 = getelementptr float, ptr %48, i64 %251
  %253 = getelementptr float, ptr %252, i64 8
  store <8 x float> %243, ptr %253, align 4
  %254 = add i64 %vector17, 16
  br label %vector.head15

vector.end26:                                     ; preds = %vector.head15
  br label %tail.head27

tail.head27:                                      ; preds = %tail28, %vector.end26
  %tail29 = phi i64 [ %173, %vector.end26 ], [ %305, %tail28 ]
  %255 = phi <8 x float> [ %174, %vector.end26 ], [ %256, %tail28 ]
  %256 = phi <8 x float> [ %175, %vector.end26 ], [ %257, %tail28 ]
  %257 = phi <8 x float> [ %176, %vector.end26 ], [ %258, %tail28 ]
  %258 = phi <8 x float> [ %177, %vector.end26 ], [ %259, %tail28 ]
  %259 = phi <8 x float> [ %178, %vector.end26 ], [ %260, %tail28 ]
  %260 = phi <8 x float> [ %179, %vector.end26 ], [ %261, %tail28 ]
  %261 = phi <8 x float> [ %180, %vector.end26 ], [ %262, %tail28 ]
  %262 = phi <8 x float> [ %181, %vector.end26 ], [ %299, %tail28 ]
  %263 = icmp slt i64 %tail29, %170
  br i1 %263, label %tail28, label %tail.end36

tail28:                                           ; preds = %tail.head27
  %264 = sub i64 %170, %tail29
  %265 = call i64 @llvm.umin.i64(i64 %264, i64 8)
  %266 = trunc i64 %265 to i32
  %.splatinsert30 = insertelement <8 x i32> poison, i32 %266, i64 0
  %.splat31 = shufflevector <8 x i32> %.splatinsert30, <8 x i32> poison, <8 x i32> zeroinitializer
  %267 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat31
  %268 = mul i64 %tail29, 1
  %269 = getelementptr float, ptr %45, i64 %268
  %270 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %269, i32 4, <8 x i1> %267, <8 x float> zeroinitializer)
  %.splatinsert32 = insertelement <8 x float> poison, float %21, i64 0
  %.splat33 = shufflevector <8 x float> %.splatinsert32, <8 x float> poison, <8 x i32> zeroinitializer
  %271 = fdiv <8 x float> %270, %.splat33
  %.splatinsert34 = insertelement <8 x float> poison, float %165, i64 0
  %.splat35 = shufflevector <8 x float> %.splatinsert34, <8 x float> poison, <8 x i32> zeroinitializer
  %272 = fsub <8 x float> %271, %.splat35
  %273 = fcmp ogt <8 x float> %272, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %274 = select <8 x i1> %273, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %272
  %275 = fcmp olt <8 x float> %274, <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>
  %276 = select <8 x i1> %275, <8 x float> <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>, <8 x float> %274
  %277 = fmul <8 x float> %276, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %278 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %277)
  %279 = call <8 x float> @llvm.fma.v8f32(<8 x float> %278, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %276)
  %280 = call <8 x float> @llvm.fma.v8f32(<8 x float> %278, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %279)
  %281 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %280, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %282 = call <8 x float> @llvm.fma.v8f32(<8 x float> %281, <8 x float> %280, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %283 = call <8 x float> @llvm.fma.v8f32(<8 x float> %282, <8 x float> %280, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %284 = call <8 x float> @llvm.fma.v8f32(<8 x float> %283, <8 x float> %280, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %285 = call <8 x float> @llvm.fma.v8f32(<8 x float> %284, <8 x float> %280, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %286 = call <8 x float> @llvm.fma.v8f32(<8 x float> %285, <8 x float> %280, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %287 = fptosi <8 x float> %278 to <8 x i32>
  %288 = ashr <8 x i32> %287, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %289 = sub <8 x i32> %287, %288
  %290 = add <8 x i32> %289, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %291 = shl <8 x i32> %290, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %292 = bitcast <8 x i32> %291 to <8 x float>
  %293 = add <8 x i32> %288, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %294 = shl <8 x i32> %293, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %295 = bitcast <8 x i32> %294 to <8 x float>
  %296 = fmul <8 x float> %286, %295
  %297 = fmul <8 x float> %296, %292
  %298 = fadd <8 x float> %297, %255
  %299 = select <8 x i1> %267, <8 x float> %298, <8 x float> %255
  %300 = mul i64 %tail29, 1
  %301 = getelementptr float, ptr %45, i64 %300
  %302 = getelementptr float, ptr %301, i64 %28
  call void @llvm.prefetch.p0(ptr %302, i32 0, i32 3, i32 1)
  %303 = mul i64 %tail29, 1
  %304 = getelementptr float, ptr %48, i64 %303
  call void @llvm.masked.store.v8f32.p0(<8 x float> %297, ptr %304, i32 4, <8 x i1> %267)
  %305 = add i64 %tail29, 8
  br label %tail.head27

tail.end36:                                       ; preds = %tail.head27
  %306 = fadd <8 x float> %255, %259
  %307 = fadd <8 x float> %256, %260
  %308 = fadd <8 x float> %257, %261
  %309 = fadd <8 x float> %258, %262
  %310 = fadd <8 x float> %306, %308
  %311 = fadd <8 x float> %307, %309
  %312 = fadd <8 x float> %310, %311
  %313 = shufflevector <8 x float> %312, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %314 = shufflevector <8 x float> %312, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %315 = fadd <4 x float> %314, %313
  %316 = shufflevector <4 x float> %315, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %317 = shufflevector <4 x float> %315, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %318 = fadd <2 x float> %317, %316
  %319 = extractelement <2 x float> %318, i64 1
  %320 = extractelement <2 x float> %318, i64 0
  %321 = fadd float %320, %319
  %322 = fadd float %166, %321
  %323 = fsub float %322, %166
  %324 = fsub float %321, %323
  %325 = fsub float %322, %323
  %326 = fsub float %166, %325
  %327 = fadd float %326, %324
  %328 = fadd float %167, %327
  %329 = add i64 %block14, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %330 = fadd float %166, %167
  %331 = fcmp uno float %167, %167
  %332 = select i1 %331, float %166, float %330
  %333 = fdiv float 1.000000e+00, %332
  %334 = sub i64 %9, 0
  %335 = and i64 %334, -16
  %336 = add i64 0, %335
  br label %vector.head37

vector.head37:                                    ; preds = %endif, %block.end
  %vector39 = phi i64 [ 0, %block.end ], [ %357, %endif ]
  %337 = icmp slt i64 %vector39, %336
  br i1 %337, label %vector38, label %vector.end44

vector38:                                         ; preds = %vector.head37
  %338 = mul i64 %vector39, 1
  %339 = getelementptr float, ptr %48, i64 %338
  %340 = load <8 x float>, ptr %339, align 4
  %341 = mul i64 %vector39, 1
  %342 = getelementptr float, ptr %48, i64 %341
  %343 = getelementptr float, ptr %342, i64 8
  %344 = load <8 x float>, ptr %343, align 4
  %.splatinsert40 = insertelement <8 x float> poison, float %333, i64 0
  %.splat41 = shufflevector <8 x float> %.splatinsert40, <8 x float> poison, <8 x i32> zeroinitializer
  %345 = fmul <8 x float> %340, %.splat41
  %.splatinsert42 = insertelement <8 x float> poison, float %333, i64 0
  %.splat43 = shufflevector <8 x float> %.splatinsert42, <8 x float> poison, <8 x i32> zeroinitializer
  %346 = fmul <8 x float> %344, %.splat43
  br i1 %41, label %then, label %else

then:                                             ; preds = %vector38
  %347 = mul i64 %vector39, 1
  %348 = getelementptr float, ptr %47, i64 %347
  store <8 x float> %345, ptr %348, align 32, !nontemporal !0
  %349 = mul i64 %vector39, 1
  %350 = getelementptr float, ptr %47, i64 %349
  %351 = getelementptr float, ptr %350, i64 8
  store <8 x float> %346, ptr %351, align 32, !nontemporal !0
  br label %endif

else:                                             ; preds = %vector38
  %352 = mul i64 %vector39, 1
  %353 = getelementptr float, ptr %47, i64 %352
  store <8 x float> %345, ptr %353, align 4
  %354 = mul i64 %vector39, 1
  %355 = getelementptr float, ptr %47, i64 %354
  %356 = getelementptr float, ptr %355, i64 8
  store <8 x float> %346, ptr %356, align 4
  br label %endif

endif:                                            ; preds = %then, %else
  %357 = add i64 %vector39, 16
  br label %vector.head37

vector.end44:                                     ; preds = %vector.head37
  br label %tail.head45

tail.head45:                                      ; preds = %tail46, %vector.end44
  %tail47 = phi i64 [ %336, %vector.end44 ], [ %369, %tail46 ]
  %358 = icmp slt i64 %tail47, %9
  br i1 %358, label %tail46, label %tail.end52

tail46:                                           ; preds = %tail.head45
  %359 = sub i64 %9, %tail47
  %360 = call i64 @llvm.umin.i64(i64 %359, i64 8)
  %361 = trunc i64 %360 to i32
  %.splatinsert48 = insertelement <8 x i32> poison, i32 %361, i64 0
  %.splat49 = shufflevector <8 x i32> %.splatinsert48, <8 x i32> poison, <8 x i32> zeroinitializer
  %362 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat49
  %363 = mul i64 %tail47, 1
  %364 = getelementptr float, ptr %48, i64 %363
  %365 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %364, i32 4, <8 x i1> %362, <8 x float> zeroinitializer)
  %.splatinsert50 = insertelement <8 x float> poison, float %333, i64 0
  %.splat51 = shufflevector <8 x float> %.splatinsert50, <8 x float> poison, <8 x i32> zeroinitializer
  %366 = fmul <8 x float> %365, %.splat51
  %367 = mul i64 %tail47, 1
  %368 = getelementptr float, ptr %47, i64 %367
  call void @llvm.masked.store.v8f32.p0(<8 x float> %366, ptr %368, i32 4, <8 x i1> %362)
  %369 = add i64 %tail47, 8
  br label %tail.head45

tail.end52:                                       ; preds = %tail.head45
  %370 = add i64 %42, 1
  %371 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %41, label %then53, label %endif54

then53:                                           ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif54

endif54:                                          ; preds = %task.end, %then53
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smax.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.roundeven.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)
declare void @llvm.prefetch.p0(ptr nocapture readonly, i32 immarg, i32 immarg, i32 immarg) #3

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #4

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite) }
attributes #4 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
