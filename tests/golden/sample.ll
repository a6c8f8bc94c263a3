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

done:                                             ; preds = %endif53, %entry
  ret void

task.head:                                        ; preds = %tail.end51, %work
  %task1 = phi i64 [ %2, %work ], [ %354, %tail.end51 ]
  %42 = phi i64 [ %2, %work ], [ %353, %tail.end51 ]
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
  %vector2 = phi i64 [ 0, %task ], [ %92, %vector ]
  %52 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %56, %vector ]
  %53 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %57, %vector ]
  %54 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %58, %vector ]
  %55 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %59, %vector ]
  %56 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %79, %vector ]
  %57 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %83, %vector ]
  %58 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %87, %vector ]
  %59 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %91, %vector ]
  %60 = icmp slt i64 %vector2, %51
  br i1 %60, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %61 = getelementptr float, ptr %45, i64 %vector2
  %62 = load <8 x float>, ptr %61, align 4
  %63 = getelementptr float, ptr %45, i64 %vector2
  %64 = getelementptr float, ptr %63, i64 8
  %65 = load <8 x float>, ptr %64, align 4
  %66 = getelementptr float, ptr %45, i64 %vector2
  %67 = getelementptr float, ptr %66, i64 16
  %68 = load <8 x float>, ptr %67, align 4
  %69 = getelementptr float, ptr %45, i64 %vector2
  %70 = getelementptr float, ptr %69, i64 24
  %71 = load <8 x float>, ptr %70, align 4
  %.splatinsert = insertelement <8 x float> poison, float %21, i64 0
  %.splat = shufflevector <8 x float> %.splatinsert, <8 x float> poison, <8 x i32> zeroinitializer
  %72 = fdiv <8 x float> %62, %.splat
  %.splatinsert3 = insertelement <8 x float> poison, float %21, i64 0
  %.splat4 = shufflevector <8 x float> %.splatinsert3, <8 x float> poison, <8 x i32> zeroinitializer
  %73 = fdiv <8 x float> %65, %.splat4
  %.splatinsert5 = insertelement <8 x float> poison, float %21, i64 0
  %.splat6 = shufflevector <8 x float> %.splatinsert5, <8 x float> poison, <8 x i32> zeroinitializer
  %74 = fdiv <8 x float> %68, %.splat6
  %.splatinsert7 = insertelement <8 x float> poison, float %21, i64 0
  %.splat8 = shufflevector <8 x float> %.splatinsert7, <8 x float> poison, <8 x i32> zeroinitializer
  %75 = fdiv <8 x float> %71, %.splat8
  %76 = fcmp ogt <8 x float> %72, %52
  %77 = select <8 x i1> %76, <8 x float> %72, <8 x float> %52
  %78 = fcmp uno <8 x float> %72, %72
  %79 = select <8 x i1> %78, <8 x float> %72, <8 x float> %77
  %80 = fcmp ogt <8 x float> %73, %53
  %81 = select <8 x i1> %80, <8 x float> %73, <8 x float> %53
  %82 = fcmp uno <8 x float> %73, %73
  %83 = select <8 x i1> %82, <8 x float> %73, <8 x float> %81
  %84 = fcmp ogt <8 x float> %74, %54
  %85 = select <8 x i1> %84, <8 x float> %74, <8 x float> %54
  %86 = fcmp uno <8 x float> %74, %74
  %87 = select <8 x i1> %86, <8 x float> %74, <8 x float> %85
  %88 = fcmp ogt <8 x float> %75, %55
  %89 = select <8 x i1> %88, <8 x float> %75, <8 x float> %55
  %90 = fcmp uno <8 x float> %75, %75
  %91 = select <8 x i1> %90, <8 x float> %75, <8 x float> %89
  %92 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail9 = phi i64 [ %51, %vector.end ], [ %114, %tail ]
  %93 = phi <8 x float> [ %52, %vector.end ], [ %94, %tail ]
  %94 = phi <8 x float> [ %53, %vector.end ], [ %95, %tail ]
  %95 = phi <8 x float> [ %54, %vector.end ], [ %96, %tail ]
  %96 = phi <8 x float> [ %55, %vector.end ], [ %97, %tail ]
  %97 = phi <8 x float> [ %56, %vector.end ], [ %98, %tail ]
  %98 = phi <8 x float> [ %57, %vector.end ], [ %99, %tail ]
  %99 = phi <8 x float> [ %58, %vector.end ], [ %100, %tail ]
  %100 = phi <8 x float> [ %59, %vector.end ], [ %113, %tail ]
  %101 = icmp slt i64 %tail9, %9
  br i1 %101, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %102 = sub i64 %9, %tail9
  %103 = call i64 @llvm.umin.i64(i64 %102, i64 8)
  %104 = trunc i64 %103 to i32
  %.splatinsert10 = insertelement <8 x i32> poison, i32 %104, i64 0
  %.splat11 = shufflevector <8 x i32> %.splatinsert10, <8 x i32> poison, <8 x i32> zeroinitializer
  %105 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat11
  %106 = getelementptr float, ptr %45, i64 %tail9
  %107 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %106, i32 4, <8 x i1> %105, <8 x float> zeroinitializer)
  %.splatinsert12 = insertelement <8 x float> poison, float %21, i64 0
  %.splat13 = shufflevector <8 x float> %.splatinsert12, <8 x float> poison, <8 x i32> zeroinitializer
  %108 = fdiv <8 x float> %107, %.splat13
  %109 = fcmp ogt <8 x float> %108, %93
  %110 = select <8 x i1> %109, <8 x float> %108, <8 x float> %93
  %111 = fcmp uno <8 x float> %108, %108
  %112 = select <8 x i1> %111, <8 x float> %108, <8 x float> %110
  %113 = select <8 x i1> %105, <8 x float> %112, <8 x float> %93
  %114 = add i64 %tail9, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %115 = fcmp ogt <8 x float> %93, %97
  %116 = select <8 x i1> %115, <8 x float> %93, <8 x float> %97
  %117 = fcmp uno <8 x float> %93, %93
  %118 = select <8 x i1> %117, <8 x float> %93, <8 x float> %116
  %119 = fcmp ogt <8 x float> %94, %98
  %120 = select <8 x i1> %119, <8 x float> %94, <8 x float> %98
  %121 = fcmp uno <8 x float> %94, %94
  %122 = select <8 x i1> %121, <8 x float> %94, <8 x float> %120
  %123 = fcmp ogt <8 x float> %95, %99
  %124 = select <8 x i1> %123, <8 x float> %95, <8 x float> %99
  %125 = fcmp uno <8 x float> %95, %95
  %126 = select <8 x i1> %125, <8 x float> %95, <8 x float> %124
  %127 = fcmp ogt <8 x float> %96, %100
  %128 = select <8 x i1> %127, <8 x float> %96, <8 x float> %100
  %129 = fcmp uno <8 x float> %96, %96
  %130 = select <8 x i1> %129, <8 x float> %96, <8 x float> %128
  %131 = fcmp ogt <8 x float> %118, %126
  %132 = select <8 x i1> %131, <8 x float> %118, <8 x float> %126
  %133 = fcmp uno <8 x float> %118, %118
  %134 = select <8 x i1> %133, <8 x float> %118, <8 x float> %132
  %135 = fcmp ogt <8 x float> %122, %130
  %136 = select <8 x i1> %135, <8 x float> %122, <8 x float> %130
  %137 = fcmp uno <8 x float> %122, %122
  %138 = select <8 x i1> %137, <8 x float> %122, <8 x float> %136
  %139 = fcmp ogt <8 x float> %134, %138
  %140 = select <8 x i1> %139, <8 x float> %134, <8 x float> %138
  %141 = fcmp uno <8 x float> %134, %134
  %142 = select <8 x i1> %141, <8 x float> %134, <8 x float> %140
  %143 = shufflevector <8 x float> %142, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %144 = shufflevector <8 x float> %142, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %145 = fcmp ogt <4 x float> %144, %143
  %146 = select <4 x i1> %145, <4 x float> %144, <4 x float> %143
  %147 = fcmp uno <4 x float> %144, %144
  %148 = select <4 x i1> %147, <4 x float> %144, <4 x float> %146
  %149 = shufflevector <4 x float> %148, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %150 = shufflevector <4 x float> %148, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %151 = fcmp ogt <2 x float> %150, %149
  %152 = select <2 x i1> %151, <2 x float> %150, <2 x float> %149
  %153 = fcmp uno <2 x float> %150, %150
  %154 = select <2 x i1> %153, <2 x float> %150, <2 x float> %152
  %155 = extractelement <2 x float> %154, i64 1
  %156 = extractelement <2 x float> %154, i64 0
  %157 = fcmp ogt float %156, %155
  %158 = select i1 %157, float %156, float %155
  %159 = fcmp uno float %156, %156
  %160 = select i1 %159, float %156, float %158
  br label %block.head

block.head:                                       ; preds = %tail.end36, %tail.end
  %block14 = phi i64 [ 0, %tail.end ], [ %319, %tail.end36 ]
  %161 = phi float [ 0.000000e+00, %tail.end ], [ %312, %tail.end36 ]
  %162 = phi float [ 0.000000e+00, %tail.end ], [ %318, %tail.end36 ]
  %163 = icmp slt i64 %block14, %9
  br i1 %163, label %block, label %block.end

block:                                            ; preds = %block.head
  %164 = add i64 %block14, 8192
  %165 = call i64 @llvm.smin.i64(i64 %164, i64 %9)
  %166 = sub i64 %165, %block14
  %167 = and i64 %166, -16
  %168 = add i64 %block14, %167
  br label %vector.head15

vector.head15:                                    ; preds = %vector16, %block
  %vector17 = phi i64 [ %block14, %block ], [ %246, %vector16 ]
  %169 = phi <8 x float> [ zeroinitializer, %block ], [ %171, %vector16 ]
  %170 = phi <8 x float> [ zeroinitializer, %block ], [ %172, %vector16 ]
  %171 = phi <8 x float> [ zeroinitializer, %block ], [ %173, %vector16 ]
  %172 = phi <8 x float> [ zeroinitializer, %block ], [ %174, %vector16 ]
  %173 = phi <8 x float> [ zeroinitializer, %block ], [ %175, %vector16 ]
  %174 = phi <8 x float> [ zeroinitializer, %block ], [ %176, %vector16 ]
  %175 = phi <8 x float> [ zeroinitializer, %block ], [ %239, %vector16 ]
  %176 = phi <8 x float> [ zeroinitializer, %block ], [ %240, %vector16 ]
  %177 = icmp slt i64 %vector17, %168
  br i1 %177, label %vector16, label %vector.end26

vector16:                                         ; preds = %vector.head15
  %178 = getelementptr float, ptr %45, i64 %vector17
  %179 = load <8 x float>, ptr %178, align 4
  %180 = getelementptr float, ptr %45, i64 %vector17
  %181 = getelementptr float, ptr %180, i64 8
  %182 = load <8 x float>, ptr %181, align 4
  %.splatinsert18 = insertelement <8 x float> poison, float %21, i64 0
  %.splat19 = shufflevector <8 x float> %.splatinsert18, <8 x float> poison, <8 x i32> zeroinitializer
  %183 = fdiv <8 x float> %179, %.splat19
  %.splatinsert20 = insertelement <8 x float> poison, float %21, i64 0
  %.splat21 = shufflevector <8 x float> %.splatinsert20, <8 x float> poison, <8 x i32> zeroinitializer
  %184 = fdiv <8 x float> %182, %.splat21
  %.splatinsert22 = insertelement <8 x float> poison, float %160, i64 0
  %.splat23 = shufflevector <8 x float> %.splatinsert22, <8 x float> poison, <8 x i32> zeroinitializer
  %185 = fsub <8 x float> %183, %.splat23
  %.splatinsert24 = insertelement <8 x float> poison, float %160, i64 0
  %.splat25 = shufflevector <8 x float> %.splatinsert24, <8 x float> poison, <8 x i32> zeroinitializer
  %186 = fsub <8 x float> %184, %.splat25
  %187 = fcmp uge <8 x float> %185, <float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02>
  %188 = fcmp ogt <8 x float> %185, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %189 = select <8 x i1> %188, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %185
  %190 = select <8 x i1> %187, <8 x float> %189, <8 x float> zeroinitializer
  %191 = fmul <8 x float> %190, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %192 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %191)
  %193 = call <8 x float> @llvm.fma.v8f32(<8 x float> %192, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %190)
  %194 = call <8 x float> @llvm.fma.v8f32(<8 x float> %192, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %193)
  %195 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %194, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %196 = call <8 x float> @llvm.fma.v8f32(<8 x float> %195, <8 x float> %194, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %197 = call <8 x float> @llvm.fma.v8f32(<8 x float> %196, <8 x float> %194, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %198 = call <8 x float> @llvm.fma.v8f32(<8 x float> %197, <8 x float> %194, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %199 = call <8 x float> @llvm.fma.v8f32(<8 x float> %198, <8 x float> %194, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %200 = call <8 x float> @llvm.fma.v8f32(<8 x float> %199, <8 x float> %194, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %201 = fptosi <8 x float> %192 to <8 x i32>
  %202 = ashr <8 x i32> %201, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %203 = sub <8 x i32> %201, %202
  %204 = add <8 x i32> %203, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %205 = shl <8 x i32> %204, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %206 = bitcast <8 x i32> %205 to <8 x float>
  %207 = add <8 x i32> %202, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %208 = shl <8 x i32> %207, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %209 = bitcast <8 x i32> %208 to <8 x float>
  %210 = fmul <8 x float> %200, %209
  %211 = fmul <8 x float> %210, %206
  %212 = select <8 x i1> %187, <8 x float> %211, <8 x float> zeroinitializer
  %213 = fcmp uge <8 x float> %186, <float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02>
  %214 = fcmp ogt <8 x float> %186, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %215 = select <8 x i1> %214, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %186
  %216 = select <8 x i1> %213, <8 x float> %215, <8 x float> zeroinitializer
  %217 = fmul <8 x float> %216, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %218 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %217)
  %219 = call <8 x float> @llvm.fma.v8f32(<8 x float> %218, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %216)
  %220 = call <8 x float> @llvm.fma.v8f32(<8 x float> %218, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %219)
  %221 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %220, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %222 = call <8 x float> @llvm.fma.v8f32(<8 x float> %221, <8 x float> %220, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %223 = call <8 x float> @llvm.fma.v8f32(<8 x float> %222, <8 x float> %220, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %224 = call <8 x float> @llvm.fma.v8f32(<8 x float> %223, <8 x float> %220, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %225 = call <8 x float> @llvm.fma.v8f32(<8 x float> %224, <8 x float> %220, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %226 = call <8 x float> @llvm.fma.v8f32(<8 x float> %225, <8 x float> %220, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %227 = fptosi <8 x float> %218 to <8 x i32>
  %228 = ashr <8 x i32> %227, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %229 = sub <8 x i32> %227, %228
  %230 = add <8 x i32> %229, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %231 = shl <8 x i32> %230, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %232 = bitcast <8 x i32> %231 to <8 x float>
  %233 = add <8 x i32> %228, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %234 = shl <8 x i32> %233, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %235 = bitcast <8 x i32> %234 to <8 x float>
  %236 = fmul <8 x float> %226, %235
  %237 = fmul <8 x float> %236, %232
  %238 = select <8 x i1> %213, <8 x float> %237, <8 x float> zeroinitializer
  %239 = fadd <8 x float> %212, %169
  %240 = fadd <8 x float> %238, %170
  %241 = getelementptr float, ptr %45, i64 %vector17
  %242 = getelementptr float, ptr %241, i64 %28
  call void @llvm.prefetch.p0(ptr %242, i32 0, i32 3, i32 1)
  %243 = getelementptr float, ptr %48, i64 %vector17
  store <8 x float> %212, ptr %243, align 4
  %244 = getelementptr float, ptr %48, i64 %vector17
  %245 = getelementptr float, ptr %244, i64 8
  store <8 x float> %238, ptr %245, align 4
  %246 = add i64 %vector17, 16
  br label %vector.head15

vector.end26:                                     ; preds = %vector.head15
  br label %tail.head27

tail.head27:                                      ; preds = %tail28, %vector.end26
  %tail29 = phi i64 [ %168, %vector.end26 ], [ %295, %tail28 ]
  %247 = phi <8 x float> [ %169, %vector.end26 ], [ %248, %tail28 ]
  %248 = phi <8 x float> [ %170, %vector.end26 ], [ %249, %tail28 ]
  %249 = phi <8 x float> [ %171, %vector.end26 ], [ %250, %tail28 ]
  %250 = phi <8 x float> [ %172, %vector.end26 ], [ %251, %tail28 ]
  %251 = phi <8 x float> [ %173, %vector.end26 ], [ %252, %tail28 ]
  %252 = phi <8 x float> [ %174, %vector.end26 ], [ %253, %tail28 ]
  %253 = phi <8 x float> [ %175, %vector.end26 ], [ %254, %tail28 ]
  %254 = phi <8 x float> [ %176, %vector.end26 ], [ %291, %tail28 ]
  %255 = icmp slt i64 %tail29, %165
  br i1 %255, label %tail28, label %tail.end36

tail28:                                           ; preds = %tail.head27
  %256 = sub i64 %165, %tail29
  %257 = call i64 @llvm.umin.i64(i64 %256, i64 8)
  %258 = trunc i64 %257 to i32
  %.splatinsert30 = insertelement <8 x i32> poison, i32 %258, i64 0
  %.splat31 = shufflevector <8 x i32> %.splatinsert30, <8 x i32> poison, <8 x i32> zeroinitializer
  %259 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat31
  %260 = getelementptr float, ptr %45, i64 %tail29
  %261 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %260, i32 4, <8 x i1> %259, <8 x float> zeroinitializer)
  %.splatinsert32 = insertelement <8 x float> poison, float %21, i64 0
  %.splat33 = shufflevector <8 x float> %.splatinsert32, <8 x float> poison, <8 x i32> zeroinitializer
  %262 = fdiv <8 x float> %261, %.splat33
  %.splatinsert34 = insertelement <8 x float> poison, float %160, i64 0
  %.splat35 = shufflevector <8 x float> %.splatinsert34, <8 x float> poison, <8 x i32> zeroinitializer
  %263 = fsub <8 x float> %262, %.splat35
  %264 = fcmp uge <8 x float> %263, <float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02, float -1.040000e+02>
  %265 = fcmp ogt <8 x float> %263, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %266 = select <8 x i1> %265, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %263
  %267 = select <8 x i1> %264, <8 x float> %266, <8 x float> zeroinitializer
  %268 = fmul <8 x float> %267, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %269 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %268)
  %270 = call <8 x float> @llvm.fma.v8f32(<8 x float> %269, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %267)
  %271 = call <8 x float> @llvm.fma.v8f32(<8 x float> %269, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %270)
  %272 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %271, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %273 = call <8 x float> @llvm.fma.v8f32(<8 x float> %272, <8 x float> %271, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %274 = call <8 x float> @llvm.fma.v8f32(<8 x float> %273, <8 x float> %271, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %275 = call <8 x float> @llvm.fma.v8f32(<8 x float> %274, <8 x float> %271, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %276 = call <8 x float> @llvm.fma.v8f32(<8 x float> %275, <8 x float> %271, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %277 = call <8 x float> @llvm.fma.v8f32(<8 x float> %276, <8 x float> %271, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %278 = fptosi <8 x float> %269 to <8 x i32>
  %279 = ashr <8 x i32> %278, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %280 = sub <8 x i32> %278, %279
  %281 = add <8 x i32> %280, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %282 = shl <8 x i32> %281, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %283 = bitcast <8 x i32> %282 to <8 x float>
  %284 = add <8 x i32> %279, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %285 = shl <8 x i32> %284, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %286 = bitcast <8 x i32> %285 to <8 x float>
  %287 = fmul <8 x float> %277, %286
  %288 = fmul <8 x float> %287, %283
  %289 = select <8 x i1> %264, <8 x float> %288, <8 x float> zeroinitializer
  %290 = fadd <8 x float> %289, %247
  %291 = select <8 x i1> %259, <8 x float> %290, <8 x float> %247
  %292 = getelementptr float, ptr %45, i64 %tail29
  %293 = getelementptr float, ptr %292, i64 %28
  call void @llvm.prefetch.p0(ptr %293, i32 0, i32 3, i32 1)
  %294 = getelementptr float, ptr %48, i64 %tail29
  call void @llvm.masked.store.v8f32.p0(<8 x float> %289, ptr %294, i32 4, <8 x i1> %259)
  %295 = add i64 %tail29, 8
  br label %tail.head27

tail.end36:                                       ; preds = %tail.head27
  %296 = fadd <8 x float> %247, %251
  %297 = fadd <8 x float> %248, %252
  %298 = fadd <8 x float> %249, %253
  %299 = fadd <8 x float> %250, %254
  %300 = fadd <8 x float> %296, %298
  %301 = fadd <8 x float> %297, %299
  %302 = fadd <8 x float> %300, %301
  %303 = shufflevector <8 x float> %302, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %304 = shufflevector <8 x float> %302, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %305 = fadd <4 x float> %304, %303
  %306 = shufflevector <4 x float> %305, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %307 = shufflevector <4 x float> %305, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %308 = fadd <2 x float> %307, %306
  %309 = extractelement <2 x float> %308, i64 1
  %310 = extractelement <2 x float> %308, i64 0
  %311 = fadd float %310, %309
  %312 = fadd float %161, %311
  %313 = fsub float %312, %161
  %314 = fsub float %311, %313
  %315 = fsub float %312, %313
  %316 = fsub float %161, %315
  %317 = fadd float %316, %314
  %318 = fadd float %162, %317
  %319 = add i64 %block14, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %320 = fadd float %161, %162
  %321 = fcmp uno float %162, %162
  %322 = select i1 %321, float %161, float %320
  %323 = fdiv float 1.000000e+00, %322
  %324 = sub i64 %9, 0
  %325 = and i64 %324, -16
  %326 = add i64 0, %325
  %327 = icmp slt i64 0, %326
  br i1 %327, label %vector37, label %vector.end43

vector37:                                         ; preds = %endif, %block.end
  %vector38 = phi i64 [ 0, %block.end ], [ %341, %endif ]
  %328 = getelementptr float, ptr %48, i64 %vector38
  %329 = load <8 x float>, ptr %328, align 4
  %330 = getelementptr float, ptr %48, i64 %vector38
  %331 = getelementptr float, ptr %330, i64 8
  %332 = load <8 x float>, ptr %331, align 4
  %.splatinsert39 = insertelement <8 x float> poison, float %323, i64 0
  %.splat40 = shufflevector <8 x float> %.splatinsert39, <8 x float> poison, <8 x i32> zeroinitializer
  %333 = fmul <8 x float> %329, %.splat40
  %.splatinsert41 = insertelement <8 x float> poison, float %323, i64 0
  %.splat42 = shufflevector <8 x float> %.splatinsert41, <8 x float> poison, <8 x i32> zeroinitializer
  %334 = fmul <8 x float> %332, %.splat42
  br i1 %41, label %then, label %else

then:                                             ; preds = %vector37
  %335 = getelementptr float, ptr %47, i64 %vector38
  store <8 x float> %333, ptr %335, align 32, !nontemporal !0
  %336 = getelementptr float, ptr %47, i64 %vector38
  %337 = getelementptr float, ptr %336, i64 8
  store <8 x float> %334, ptr %337, align 32, !nontemporal !0
  br label %endif

else:                                             ; preds = %vector37
  %338 = getelementptr float, ptr %47, i64 %vector38
  store <8 x float> %333, ptr %338, align 4
  %339 = getelementptr float, ptr %47, i64 %vector38
  %340 = getelementptr float, ptr %339, i64 8
  store <8 x float> %334, ptr %340, align 4
  br label %endif

endif:                                            ; preds = %then, %else
  %341 = add i64 %vector38, 16
  %342 = icmp slt i64 %341, %326
  br i1 %342, label %vector37, label %vector.end43

vector.end43:                                     ; preds = %endif, %block.end
  br label %tail.head44

tail.head44:                                      ; preds = %tail45, %vector.end43
  %tail46 = phi i64 [ %326, %vector.end43 ], [ %352, %tail45 ]
  %343 = icmp slt i64 %tail46, %9
  br i1 %343, label %tail45, label %tail.end51

tail45:                                           ; preds = %tail.head44
  %344 = sub i64 %9, %tail46
  %345 = call i64 @llvm.umin.i64(i64 %344, i64 8)
  %346 = trunc i64 %345 to i32
  %.splatinsert47 = insertelement <8 x i32> poison, i32 %346, i64 0
  %.splat48 = shufflevector <8 x i32> %.splatinsert47, <8 x i32> poison, <8 x i32> zeroinitializer
  %347 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat48
  %348 = getelementptr float, ptr %48, i64 %tail46
  %349 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %348, i32 4, <8 x i1> %347, <8 x float> zeroinitializer)
  %.splatinsert49 = insertelement <8 x float> poison, float %323, i64 0
  %.splat50 = shufflevector <8 x float> %.splatinsert49, <8 x float> poison, <8 x i32> zeroinitializer
  %350 = fmul <8 x float> %349, %.splat50
  %351 = getelementptr float, ptr %47, i64 %tail46
  call void @llvm.masked.store.v8f32.p0(<8 x float> %350, ptr %351, i32 4, <8 x i1> %347)
  %352 = add i64 %tail46, 8
  br label %tail.head44

tail.end51:                                       ; preds = %tail.head44
  %353 = add i64 %42, 1
  %354 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %41, label %then52, label %endif53

then52:                                           ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif53

endif53:                                          ; preds = %task.end, %then52
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
