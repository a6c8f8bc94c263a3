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
  %task1 = phi i64 [ %2, %work ], [ %374, %tail.end52 ]
  %42 = phi i64 [ %2, %work ], [ %373, %tail.end52 ]
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
  %block14 = phi i64 [ 0, %tail.end ], [ %332, %tail.end36 ]
  %166 = phi float [ 0.000000e+00, %tail.end ], [ %325, %tail.end36 ]
  %167 = phi float [ 0.000000e+00, %tail.end ], [ %331, %tail.end36 ]
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
  %vector17 = phi i64 [ %block14, %block ], [ %256, %vector16 ]
  %174 = phi <8 x float> [ zeroinitializer, %block ], [ %176, %vector16 ]
  %175 = phi <8 x float> [ zeroinitializer, %block ], [ %177, %vector16 ]
  %176 = phi <8 x float> [ zeroinitializer, %block ], [ %178, %vector16 ]
  %177 = phi <8 x float> [ zeroinitializer, %block ], [ %179, %vector16 ]
  %178 = phi <8 x float> [ zeroinitializer, %block ], [ %180, %vector16 ]
  %179 = phi <8 x float> [ zeroinitializer, %block ], [ %181, %vector16 ]
  %180 = phi <8 x float> [ zeroinitializer, %block ], [ %246, %vector16 ]
  %181 = phi <8 x float> [ zeroinitializer, %block ], [ %247, %vector16 ]
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
  %194 = fcmp uge <8 x float> %192, <float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02>
  %195 = fcmp ogt <8 x float> %192, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %196 = select <8 x i1> %195, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %192
  %197 = select <8 x i1> %194, <8 x float> %196, <8 x float> zeroinitializer
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
  %219 = select <8 x i1> %194, <8 x float> %218, <8 x float> zeroinitializer
  %220 = fcmp uge <8 x float> %193, <float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02>
  %221 = fcmp ogt <8 x float> %193, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %222 = select <8 x i1> %221, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %193
  %223 = select <8 x i1> %220, <8 x float> %222, <8 x float> zeroinitializer
  %224 = fmul <8 x float> %223, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %225 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %224)
  %226 = call <8 x float> @llvm.fma.v8f32(<8 x float> %225, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %223)
  %227 = call <8 x float> @llvm.fma.v8f32(<8 x float> %225, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %226)
  %228 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %227, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %229 = call <8 x float> @llvm.fma.v8f32(<8 x float> %228, <8 x float> %227, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %230 = call <8 x float> @llvm.fma.v8f32(<8 x float> %229, <8 x float> %227, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %231 = call <8 x float> @llvm.fma.v8f32(<8 x float> %230, <8 x float> %227, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %232 = call <8 x float> @llvm.fma.v8f32(<8 x float> %231, <8 x float> %227, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %233 = call <8 x float> @llvm.fma.v8f32(<8 x float> %232, <8 x float> %227, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %234 = fptosi <8 x float> %225 to <8 x i32>
  %235 = ashr <8 x i32> %234, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %236 = sub <8 x i32> %234, %235
  %237 = add <8 x i32> %236, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %238 = shl <8 x i32> %237, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %239 = bitcast <8 x i32> %238 to <8 x float>
  %240 = add <8 x i32> %235, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %241 = shl <8 x i32> %240, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %242 = bitcast <8 x i32> %241 to <8 x float>
  %243 = fmul <8 x float> %233, %242
  %244 = fmul <8 x float> %243, %239
  %245 = select <8 x i1> %220, <8 x float> %244, <8 x float> zeroinitializer
  %246 = fadd <8 x float> %219, %174
  %247 = fadd <8 x float> %245, %175
  %248 = mul i64 %vector17, 1
  %249 = getelementptr float, ptr %45, i64 %248
  %250 = getelementptr float, ptr %249, i64 %28
  call void @llvm.prefetch.p0(ptr %250, i32 0, i32 3, i32 1)
  %251 = mul i64 %vector17, 1
  %252 = getelementptr float, ptr %48, i64 %251
  store <8 x float> %219, ptr %252, align 4
  %253 = mul i64 %vector17, 1
  %254 = getelementptr float, ptr %48, i64 %253
  %255 = getelementptr float, ptr %254, i64 8
  store <8 x float> %245, ptr %255, align 4
  %256 = add i64 %vector17, 16
  br label %vector.head15

vector.end26:                                     ; preds = %vector.head15
  br label %tail.head27

tail.head27:                                      ; preds = %tail28, %vector.end26
  %tail29 = phi i64 [ %173, %vector.end26 ], [ %308, %tail28 ]
  %257 = phi <8 x float> [ %174, %vector.end26 ], [ %258, %tail28 ]
  %258 = phi <8 x float> [ %175, %vector.end26 ], [ %259, %tail28 ]
  %259 = phi <8 x float> [ %176, %vector.end26 ], [ %260, %tail28 ]
  %260 = phi <8 x float> [ %177, %vector.end26 ], [ %261, %tail28 ]
  %261 = phi <8 x float> [ %178, %vector.end26 ], [ %262, %tail28 ]
  %262 = phi <8 x float> [ %179, %vector.end26 ], [ %263, %tail28 ]
  %263 = phi <8 x float> [ %180, %vector.end26 ], [ %264, %tail28 ]
  %264 = phi <8 x float> [ %181, %vector.end26 ], [ %302, %tail28 ]
  %265 = icmp slt i64 %tail29, %170
  br i1 %265, label %tail28, label %tail.end36

tail28:                                           ; preds = %tail.head27
  %266 = sub i64 %170, %tail29
  %267 = call i64 @llvm.umin.i64(i64 %266, i64 8)
  %268 = trunc i64 %267 to i32
  %.splatinsert30 = insertelement <8 x i32> poison, i32 %268, i64 0
  %.splat31 = shufflevector <8 x i32> %.splatinsert30, <8 x i32> poison, <8 x i32> zeroinitializer
  %269 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat31
  %270 = mul i64 %tail29, 1
  %271 = getelementptr float, ptr %45, i64 %270
  %272 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %271, i32 4, <8 x i1> %269, <8 x float> zeroinitializer)
  %.splatinsert32 = insertelement <8 x float> poison, float %21, i64 0
  %.splat33 = shufflevector <8 x float> %.splatinsert32, <8 x float> poison, <8 x i32> zeroinitializer
  %273 = fdiv <8 x float> %272, %.splat33
  %.splatinsert34 = insertelement <8 x float> poison, float %165, i64 0
  %.splat35 = shufflevector <8 x float> %.splatinsert34, <8 x float> poison, <8 x i32> zeroinitializer
  %274 = fsub <8 x float> %273, %.splat35
  %275 = fcmp uge <8 x float> %274, <float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02>
  %276 = fcmp ogt <8 x float> %274, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %277 = select <8 x i1> %276, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %274
  %278 = select <8 x i1> %275, <8 x float> %277, <8 x float> zeroinitializer
  %279 = fmul <8 x float> %278, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %280 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %279)
  %281 = call <8 x float> @llvm.fma.v8f32(<8 x float> %280, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %278)
  %282 = call <8 x float> @llvm.fma.v8f32(<8 x float> %280, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %281)
  %283 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %282, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %284 = call <8 x float> @llvm.fma.v8f32(<8 x float> %283, <8 x float> %282, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %285 = call <8 x float> @llvm.fma.v8f32(<8 x float> %284, <8 x float> %282, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %286 = call <8 x float> @llvm.fma.v8f32(<8 x float> %285, <8 x float> %282, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %287 = call <8 x float> @llvm.fma.v8f32(<8 x float> %286, <8 x float> %282, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %288 = call <8 x float> @llvm.fma.v8f32(<8 x float> %287, <8 x float> %282, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %289 = fptosi <8 x float> %280 to <8 x i32>
  %290 = ashr <8 x i32> %289, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %291 = sub <8 x i32> %289, %290
  %292 = add <8 x i32> %291, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %293 = shl <8 x i32> %292, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %294 = bitcast <8 x i32> %293 to <8 x float>
  %295 = add <8 x i32> %290, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %296 = shl <8 x i32> %295, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %297 = bitcast <8 x i32> %296 to <8 x float>
  %298 = fmul <8 x float> %288, %297
  %299 = fmul <8 x float> %298, %294
  %300 = select <8 x i1> %275, <8 x float> %299, <8 x float> zeroinitializer
  %301 = fadd <8 x float> %300, %257
  %302 = select <8 x i1> %269, <8 x float> %301, <8 x float> %257
  %303 = mul i64 %tail29, 1
  %304 = getelementptr float, ptr %45, i64 %303
  %305 = getelementptr float, ptr %304, i64 %28
  call void @llvm.prefetch.p0(ptr %305, i32 0, i32 3, i32 1)
  %306 = mul i64 %tail29, 1
  %307 = getelementptr float, ptr %48, i64 %306
  call void @llvm.masked.store.v8f32.p0(<8 x float> %300, ptr %307, i32 4, <8 x i1> %269)
  %308 = add i64 %tail29, 8
  br label %tail.head27

tail.end36:                                       ; preds = %tail.head27
  %309 = fadd <8 x float> %257, %261
  %310 = fadd <8 x float> %258, %262
  %311 = fadd <8 x float> %259, %263
  %312 = fadd <8 x float> %260, %264
  %313 = fadd <8 x float> %309, %311
  %314 = fadd <8 x float> %310, %312
  %315 = fadd <8 x float> %313, %314
  %316 = shufflevector <8 x float> %315, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %317 = shufflevector <8 x float> %315, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %318 = fadd <4 x float> %317, %316
  %319 = shufflevector <4 x float> %318, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %320 = shufflevector <4 x float> %318, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %321 = fadd <2 x float> %320, %319
  %322 = extractelement <2 x float> %321, i64 1
  %323 = extractelement <2 x float> %321, i64 0
  %324 = fadd float %323, %322
  %325 = fadd float %166, %324
  %326 = fsub float %325, %166
  %327 = fsub float %324, %326
  %328 = fsub float %325, %326
  %329 = fsub float %166, %328
  %330 = fadd float %329, %327
  %331 = fadd float %167, %330
  %332 = add i64 %block14, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %333 = fadd float %166, %167
  %334 = fcmp uno float %167, %167
  %335 = select i1 %334, float %166, float %333
  %336 = fdiv float 1.000000e+00, %335
  %337 = sub i64 %9, 0
  %338 = and i64 %337, -16
  %339 = add i64 0, %338
  br label %vector.head37

vector.head37:                                    ; preds = %endif, %block.end
  %vector39 = phi i64 [ 0, %block.end ], [ %360, %endif ]
  %340 = icmp slt i64 %vector39, %339
  br i1 %340, label %vector38, label %vector.end44

vector38:                                         ; preds = %vector.head37
  %341 = mul i64 %vector39, 1
  %342 = getelementptr float, ptr %48, i64 %341
  %343 = load <8 x float>, ptr %342, align 4
  %344 = mul i64 %vector39, 1
  %345 = getelementptr float, ptr %48, i64 %344
  %346 = getelementptr float, ptr %345, i64 8
  %347 = load <8 x float>, ptr %346, align 4
  %.splatinsert40 = insertelement <8 x float> poison, float %336, i64 0
  %.splat41 = shufflevector <8 x float> %.splatinsert40, <8 x float> poison, <8 x i32> zeroinitializer
  %348 = fmul <8 x float> %343, %.splat41
  %.splatinsert42 = insertelement <8 x float> poison, float %336, i64 0
  %.splat43 = shufflevector <8 x float> %.splatinsert42, <8 x float> poison, <8 x i32> zeroinitializer
  %349 = fmul <8 x float> %347, %.splat43
  br i1 %41, label %then, label %else

then:                                             ; preds = %vector38
  %350 = mul i64 %vector39, 1
  %351 = getelementptr float, ptr %47, i64 %350
  store <8 x float> %348, ptr %351, align 32, !nontemporal !0
  %352 = mul i64 %vector39, 1
  %353 = getelementptr float, ptr %47, i64 %352
  %354 = getelementptr float, ptr %353, i64 8
  store <8 x float> %349, ptr %354, align 32, !nontemporal !0
  br label %endif

else:                                             ; preds = %vector38
  %355 = mul i64 %vector39, 1
  %356 = getelementptr float, ptr %47, i64 %355
  store <8 x float> %348, ptr %356, align 4
  %357 = mul i64 %vector39, 1
  %358 = getelementptr float, ptr %47, i64 %357
  %359 = getelementptr float, ptr %358, i64 8
  store <8 x float> %349, ptr %359, align 4
  br label %endif

endif:                                            ; preds = %then, %else
  %360 = add i64 %vector39, 16
  br label %vector.head37

vector.end44:                                     ; preds = %vector.head37
  br label %tail.head45

tail.head45:                                      ; preds = %tail46, %vector.end44
  %tail47 = phi i64 [ %339, %vector.end44 ], [ %372, %tail46 ]
  %361 = icmp slt i64 %tail47, %9
  br i1 %361, label %tail46, label %tail.end52

tail46:                                           ; preds = %tail.head45
  %362 = sub i64 %9, %tail47
  %363 = call i64 @llvm.umin.i64(i64 %362, i64 8)
  %364 = trunc i64 %363 to i32
  %.splatinsert48 = insertelement <8 x i32> poison, i32 %364, i64 0
  %.splat49 = shufflevector <8 x i32> %.splatinsert48, <8 x i32> poison, <8 x i32> zeroinitializer
  %365 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat49
  %366 = mul i64 %tail47, 1
  %367 = getelementptr float, ptr %48, i64 %366
  %368 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %367, i32 4, <8 x i1> %365, <8 x float> zeroinitializer)
  %.splatinsert50 = insertelement <8 x float> poison, float %336, i64 0
  %.splat51 = shufflevector <8 x float> %.splatinsert50, <8 x float> poison, <8 x i32> zeroinitializer
  %369 = fmul <8 x float> %368, %.splat51
  %370 = mul i64 %tail47, 1
  %371 = getelementptr float, ptr %47, i64 %370
  call void @llvm.masked.store.v8f32.p0(<8 x float> %369, ptr %371, i32 4, <8 x i1> %365)
  %372 = add i64 %tail47, 8
  br label %tail.head45

tail.end52:                                       ; preds = %tail.head45
  %373 = add i64 %42, 1
  %374 = add i64 %task1, 1
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
